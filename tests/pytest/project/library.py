def squares(n):
    numbers = []
    for i in range(n):
        numbers.append(i * i)
    return numbers
